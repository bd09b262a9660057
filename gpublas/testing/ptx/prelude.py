"""LLVM IR runtime functions used by lowered PTX."""

from . import layout

_DIRECTED = """
define internal {result} @"{name}"({parameters}) noinline strictfp {{
  call void @llvm.set.rounding(i32 {mode}) strictfp
  %r = call {result} @{intrinsic}({arguments}, metadata !"round.dynamic", metadata !"fpexcept.strict") strictfp
  call void @llvm.set.rounding(i32 1) strictfp
  ret {result} %r
}}
"""
_SUFFIX = {"float": "f32", "double": "f64", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64"}


def directed_operation(operation, source, result, mode):
    """Name and definitions of a float operation under a directed rounding mode."""
    name = f"directed.{operation}.{source}.{result}.{mode}"
    count = {"fma": 3, "fadd": 2, "fsub": 2, "fmul": 2, "fdiv": 2}.get(operation, 1)
    arguments = ", ".join(f"{source} %{index}" for index in range(count))
    suffix = _SUFFIX[result] if source == result else f"{_SUFFIX[result]}.{_SUFFIX[source]}"
    intrinsic = f"llvm.experimental.constrained.{operation}.{suffix}"
    declaration = f"declare {result} @{intrinsic}({', '.join([source] * count)}, metadata, metadata)"
    definition = _DIRECTED.format(
        result=result, name=name, parameters=arguments, arguments=arguments, mode=mode, intrinsic=intrinsic
    )
    return name, intrinsic, declaration, definition


# The smaller or larger of two numbers, -0 below +0, a NaN beside a number ignored. LLVM 20 has intrinsics for this
# (llvm.minimumnum), but compiles them wrongly for x86.
_EXTREMES = "".join(
    f"""
declare {llvm} @llvm.{name}imum.{suffix}({llvm}, {llvm})
define internal {llvm} @{name}.number.{suffix}({llvm} %a, {llvm} %b) alwaysinline {{
  %extreme = call {llvm} @llvm.{name}imum.{suffix}({llvm} %a, {llvm} %b)
  %a.nan = fcmp uno {llvm} %a, 0.0
  %b.nan = fcmp uno {llvm} %b, 0.0
  %not.b = select i1 %b.nan, {llvm} %a, {llvm} %extreme
  %r = select i1 %a.nan, {llvm} %b, {llvm} %not.b
  ret {llvm} %r
}}
"""
    for name in ("min", "max")
    for llvm, suffix in (("float", "f32"), ("double", "f64"))
)

PRELUDE = (
    _EXTREMES + """
declare void @llvm.set.rounding(i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)

; Subnormals to zeros of the same sign.
define internal float @flush(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %exponent = and i32 %bits, 2139095040
  %small = icmp eq i32 %exponent, 0
  %sign = and i32 %bits, -2147483648
  %zero = bitcast i32 %sign to float
  %r = select i1 %small, float %zero, float %x
  ret float %r
}

; The float nearest x + e among odd ones unless exact: safe to round again to 16 bits.
define internal float @round.odd(double %x, double %e) alwaysinline {
  %near = fptrunc double %x to float
  %back = fpext float %near to double
  %difference = fsub double %x, %back
  %inexact1 = fcmp une double %difference, 0.0
  %rest = select i1 %inexact1, double %difference, double %e
  %inexact = fcmp one double %rest, 0.0
  %bits = bitcast float %near to i32
  %odd = trunc i32 %bits to i1
  %even = xor i1 %odd, true
  %adjust = and i1 %inexact, %even
  %up = fcmp ogt double %rest, 0.0
  %positive = icmp sge i32 %bits, 0
  %away = icmp eq i1 %up, %positive
  %step = select i1 %away, i32 1, i32 -1
  %moved = add i32 %bits, %step
  %chosen = select i1 %adjust, i32 %moved, i32 %bits
  %r = bitcast i32 %chosen to float
  ret float %r
}

define internal float @truncate.odd(double %x) alwaysinline {
  %r = call float @round.odd(double %x, double 0.0)
  ret float %r
}

; a * b + c for f16 or bf16 operands, rounded to an odd float.
define internal float @fma.odd(float %a, float %b, float %c) {
  %a64 = fpext float %a to double
  %b64 = fpext float %b to double
  %c64 = fpext float %c to double
  %product = fmul double %a64, %b64
  %sum = fadd double %product, %c64
  %virtual = fsub double %sum, %product
  %rest1 = fsub double %sum, %virtual
  %error1 = fsub double %product, %rest1
  %error2 = fsub double %c64, %virtual
  %error = fadd double %error1, %error2
  %r = call float @round.odd(double %sum, double %error)
  ret float %r
}

define internal i16 @bf16.from.float(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %upper = lshr i32 %bits, 16
  %odd = and i32 %upper, 1
  %bias = add i32 %odd, 32767
  %rounded = add i32 %bits, %bias
  %nan = fcmp uno float %x, %x
  %chosen = select i1 %nan, i32 2147418112, i32 %rounded
  %shifted = lshr i32 %chosen, 16
  %r = trunc i32 %shifted to i16
  ret i16 %r
}

define internal i16 @bf16.from.float.rz(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %upper = lshr i32 %bits, 16
  %r = trunc i32 %upper to i16
  ret i16 %r
}

define internal i16 @f16.from.float.rz(float %x) alwaysinline {
  %near = fptrunc float %x to half
  %back = fpext half %near to float
  %bits = bitcast half %near to i16
  %size = call float @llvm.fabs.f32(float %x)
  %near.size = call float @llvm.fabs.f32(float %back)
  %beyond = fcmp ogt float %near.size, %size
  %less = sub i16 %bits, 1
  %r = select i1 %beyond, i16 %less, i16 %bits
  ret i16 %r
}
declare float @llvm.fabs.f32(float)

; Round to nearest, ties away, at 10 fraction bits.
define internal i32 @tf32.from.float(float %x) alwaysinline {
  %bits = bitcast float %x to i32
  %rounded = add i32 %bits, 4096
  %cleared = and i32 %rounded, -8192
  %exponent = and i32 %bits, 2139095040
  %special = icmp eq i32 %exponent, 2139095040
  %r = select i1 %special, i32 %bits, i32 %cleared
  ret i32 %r
}

define internal i32 @permute.bytes(i32 %a, i32 %b, i32 %selector) alwaysinline {
  %low = zext i32 %a to i64
  %high = zext i32 %b to i64
  %high.shifted = shl i64 %high, 32
  %pool = or i64 %high.shifted, %low
"""
    + "".join(
        f"""
  %s{i} = lshr i32 %selector, {4 * i}
  %index{i} = and i32 %s{i}, 7
  %wide{i} = zext i32 %index{i} to i64
  %shift{i} = shl i64 %wide{i}, 3
  %picked{i} = lshr i64 %pool, %shift{i}
  %byte{i} = trunc i64 %picked{i} to i8
  %spread{i} = ashr i8 %byte{i}, 7
  %flag{i} = and i32 %s{i}, 8
  %sign{i} = icmp ne i32 %flag{i}, 0
  %chosen{i} = select i1 %sign{i}, i8 %spread{i}, i8 %byte{i}
  %z{i} = zext i8 %chosen{i} to i32
  %placed{i} = shl i32 %z{i}, {8 * i}
"""
        for i in range(4)
    )
    + f"""
  %r01 = or i32 %placed0, %placed1
  %r23 = or i32 %placed2, %placed3
  %r = or i32 %r01, %r23
  ret i32 %r
}}

define internal void @fault(ptr %ctx, i32 %kind, i32 %line, i64 %address) cold noinline {{
  %p.kind = getelementptr i32, ptr %ctx, i64 {layout.FAULT_KIND}
  store i32 %kind, ptr %p.kind
  %p.line = getelementptr i32, ptr %ctx, i64 {layout.FAULT_LINE}
  store i32 %line, ptr %p.line
  %p.address = getelementptr i32, ptr %ctx, i64 {layout.FAULT_ADDRESS}
  store i64 %address, ptr %p.address
  ret void
}}

; Whether [address, address + size) lies in [start, start + bytes).
define internal i1 @fits(i64 %start, i64 %bytes, i64 %address, i64 %size) alwaysinline {{
  %offset = sub i64 %address, %start
  %enough = icmp uge i64 %bytes, %size
  %room = sub i64 %bytes, %size
  %inside = icmp ule i64 %offset, %room
  %r = and i1 %enough, %inside
  ret i1 %r
}}

; Whether an access lies in memory it may touch. The range an access hit last answers most calls inline;
; otherwise a binary search does, and for generic addresses the worker's shared and local memory are tried too.
define internal i1 @accessible(ptr %block, ptr %hint, i64 %address, i64 %size, i1 %generic) alwaysinline {{
  %start = load i64, ptr %hint
  %p.bytes = getelementptr i64, ptr %hint, i64 1
  %bytes = load i64, ptr %p.bytes
  %again = call i1 @fits(i64 %start, i64 %bytes, i64 %address, i64 %size)
  br i1 %again, label %done, label %look
look:
  %found = call i1 @search.ranges(ptr %block, ptr %hint, i64 %address, i64 %size, i1 %generic)
  br label %done
done:
  %r = phi i1 [ true, %0 ], [ %found, %look ]
  ret i1 %r
}}

define internal i1 @search.ranges(ptr %block, ptr %hint, i64 %address, i64 %size, i1 %generic) noinline {{
  %p.ranges = getelementptr i64, ptr %block, i64 {layout.RANGES}
  %ranges = load ptr, ptr %p.ranges
  %p.count = getelementptr i64, ptr %block, i64 {layout.RANGE_COUNT}
  %count = load i64, ptr %p.count
  br label %loop
loop:
  %base = phi ptr [ %ranges, %0 ], [ %base.next, %halve ]
  %n = phi i64 [ %count, %0 ], [ %n.next, %halve ]
  %more = icmp ugt i64 %n, 1
  br i1 %more, label %halve, label %last
halve:
  %half = lshr i64 %n, 1
  %middle = getelementptr {{ i64, i64 }}, ptr %base, i64 %half
  %middle.start = load i64, ptr %middle
  %below = icmp ule i64 %middle.start, %address
  %base.next = select i1 %below, ptr %middle, ptr %base
  %n.next = sub i64 %n, %half
  br label %loop
last:
  %hit = call i1 @try.range(ptr %base, ptr %hint, i64 %address, i64 %size)
  br i1 %hit, label %yes, label %missed
missed:
  br i1 %generic, label %shared, label %no
shared:
  %p.shared = getelementptr i64, ptr %block, i64 {layout.SHARED}
  %in.shared = call i1 @try.range(ptr %p.shared, ptr %hint, i64 %address, i64 %size)
  br i1 %in.shared, label %yes, label %local
local:
  %p.local = getelementptr i64, ptr %block, i64 {layout.CONTEXTS}
  %in.local = call i1 @try.range(ptr %p.local, ptr %hint, i64 %address, i64 %size)
  br i1 %in.local, label %yes, label %no
yes:
  ret i1 true
no:
  ret i1 false
}}

; Whether an access fits the range (start, bytes) stored at %range, which then becomes its hint.
define internal i1 @try.range(ptr %range, ptr %hint, i64 %address, i64 %size) alwaysinline {{
  %start = load i64, ptr %range
  %p.bytes = getelementptr i64, ptr %range, i64 1
  %bytes = load i64, ptr %p.bytes
  %good = call i1 @fits(i64 %start, i64 %bytes, i64 %address, i64 %size)
  br i1 %good, label %keep, label %done
keep:
  store i64 %start, ptr %hint
  %p.hint.bytes = getelementptr i64, ptr %hint, i64 1
  store i64 %bytes, ptr %p.hint.bytes
  br label %done
done:
  ret i1 %good
}}

; Queue one cp.async copy and poison its destination; false when the queue is full.
define internal i1 @copy.queue(ptr %ctx, ptr %shared, i64 %queue, i64 %target, i64 %source, i32 %size, i32 %valid) {{
  %p.count = getelementptr i32, ptr %ctx, i64 {layout.COPY_COUNT}
  %count = load i32, ptr %p.count
  %full = icmp uge i32 %count, {layout.COPY_CAPACITY}
  br i1 %full, label %no, label %yes
yes:
  %p.group = getelementptr i32, ptr %ctx, i64 {layout.COPY_GROUP}
  %group = load i32, ptr %p.group
  %next = add i32 %count, 1
  store i32 %next, ptr %p.count
  %index = zext i32 %count to i64
  %scaled = mul i64 %index, {layout.COPY_BYTES}
  %where = add i64 %queue, %scaled
  %entry = getelementptr i8, ptr %ctx, i64 %where
  store i64 %source, ptr %entry
  %p.target = getelementptr i8, ptr %entry, i64 8
  %target32 = trunc i64 %target to i32
  store i32 %target32, ptr %p.target
  %p.group2 = getelementptr i8, ptr %entry, i64 12
  store i32 %group, ptr %p.group2
  %p.size = getelementptr i8, ptr %entry, i64 16
  store i32 %size, ptr %p.size
  %p.valid = getelementptr i8, ptr %entry, i64 20
  store i32 %valid, ptr %p.valid
  %destination = getelementptr i8, ptr %shared, i64 %target
  %bytes = zext i32 %size to i64
  call void @llvm.memset.p0.i64(ptr %destination, i8 -1, i64 %bytes, i1 false)
  ret i1 true
no:
  ret i1 false
}}

; Perform the pending copies of groups before `limit`, keeping the others queued.
define internal void @copy.complete(ptr %ctx, ptr %shared, i64 %queue, i32 %limit) {{
  %p.count = getelementptr i32, ptr %ctx, i64 {layout.COPY_COUNT}
  %count = load i32, ptr %p.count
  br label %loop
loop:
  %i = phi i32 [ 0, %0 ], [ %i.next, %next ]
  %kept = phi i32 [ 0, %0 ], [ %kept.next, %next ]
  %more = icmp ult i32 %i, %count
  br i1 %more, label %visit, label %done
visit:
  %index = zext i32 %i to i64
  %scaled = mul i64 %index, {layout.COPY_BYTES}
  %where = add i64 %queue, %scaled
  %entry = getelementptr i8, ptr %ctx, i64 %where
  %p.group = getelementptr i8, ptr %entry, i64 12
  %group = load i32, ptr %p.group
  %ready = icmp slt i32 %group, %limit
  br i1 %ready, label %copy, label %keep
copy:
  %source = load i64, ptr %entry
  %p.target = getelementptr i8, ptr %entry, i64 8
  %target = load i32, ptr %p.target
  %p.size = getelementptr i8, ptr %entry, i64 16
  %size = load i32, ptr %p.size
  %p.valid = getelementptr i8, ptr %entry, i64 20
  %valid = load i32, ptr %p.valid
  %target64 = zext i32 %target to i64
  %destination = getelementptr i8, ptr %shared, i64 %target64
  %size64 = zext i32 %size to i64
  %valid64 = zext i32 %valid to i64
  call void @llvm.memset.p0.i64(ptr %destination, i8 0, i64 %size64, i1 false)
  %from = inttoptr i64 %source to ptr
  call void @llvm.memcpy.p0.p0.i64(ptr %destination, ptr %from, i64 %valid64, i1 false)
  br label %next
keep:
  %kept64 = zext i32 %kept to i64
  %kept.scaled = mul i64 %kept64, {layout.COPY_BYTES}
  %kept.where = add i64 %queue, %kept.scaled
  %kept.entry = getelementptr i8, ptr %ctx, i64 %kept.where
  %whole = load i192, ptr %entry, align 8
  store i192 %whole, ptr %kept.entry, align 8
  %kept.more = add i32 %kept, 1
  br label %next
next:
  %kept.next = phi i32 [ %kept, %copy ], [ %kept.more, %keep ]
  %i.next = add i32 %i, 1
  br label %loop
done:
  store i32 %kept, ptr %p.count
  ret void
}}

; mbarrier word: pending arrivals in bits 0-19, expected arrivals 20-39,
; pending transaction bytes (biased by 2^21) 40-61, phase parity 62. Returns the old word.
define internal i64 @mbarrier.update(ptr %barrier, i64 %arrivals, i64 %expected.change, i64 %bytes) {{
  %old = load i64, ptr %barrier
  %pending.old = and i64 %old, 1048575
  %pending = sub i64 %pending.old, %arrivals
  %expected.part = lshr i64 %old, 20
  %expected.old = and i64 %expected.part, 1048575
  %expected = add i64 %expected.old, %expected.change
  %bytes.part = lshr i64 %old, 40
  %bytes.old = and i64 %bytes.part, 4194303
  %bytes.new = add i64 %bytes.old, %bytes
  %phase = and i64 %old, 4611686018427387904
  %flipped = xor i64 %phase, 4611686018427387904
  %arrived = icmp eq i64 %pending, 0
  %balanced = icmp eq i64 %bytes.new, 2097152
  %complete = and i1 %arrived, %balanced
  %pending.next = select i1 %complete, i64 %expected, i64 %pending
  %phase.next = select i1 %complete, i64 %flipped, i64 %phase
  %expected.word = shl i64 %expected, 20
  %bytes.word = shl i64 %bytes.new, 40
  %w1 = or i64 %pending.next, %expected.word
  %w2 = or i64 %w1, %bytes.word
  %w3 = or i64 %w2, %phase.next
  store i64 %w3, ptr %barrier
  ret i64 %old
}}
"""
)
