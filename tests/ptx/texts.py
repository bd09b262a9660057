"""PTX written by hand for the tests."""

import numpy as np

HEADER = ".version 8.0\n.target sm_80\n.address_size 64\n"


def add_constant(constant):
    """A kernel that adds a constant to a u32, so that every constant makes another program."""
    return HEADER + f"""
    .visible .entry add_constant(.param .u64 out)
    {{
        .reg .b32 %r<3>; .reg .b64 %rd<2>;
        ld.param.u64 %rd1, [out];
        ld.global.u32 %r1, [%rd1];
        add.u32 %r2, %r1, {constant};
        st.global.u32 [%rd1], %r2;
        ret;
    }}"""


# Reads a u32 at each of `count` addresses, one thread an address.
GATHER = HEADER + """
    .visible .entry gather(.param .u64 addresses, .param .u64 out, .param .u32 count)
    {
        .reg .b32 %r<4>; .reg .b64 %rd<8>; .reg .pred %p<2>;
        ld.param.u64 %rd1, [addresses];
        ld.param.u64 %rd2, [out];
        ld.param.u32 %r1, [count];
        mov.u32 %r2, %tid.x;
        setp.ge.u32 %p1, %r2, %r1;
        @%p1 exit;
        mul.wide.u32 %rd3, %r2, 8;
        add.s64 %rd4, %rd1, %rd3;
        ld.global.u64 %rd5, [%rd4];
        ld.global.u32 %r3, [%rd5];
        mul.wide.u32 %rd6, %r2, 4;
        add.s64 %rd7, %rd2, %rd6;
        st.global.u32 [%rd7], %r3;
        ret;
    }"""

COUNTER = HEADER + """
    .global .align 4 .u32 counter = 5;
    .const .align 4 .b32 table[2] = {7, 0f3F800000};
    .visible .entry bump(.param .u64 out)
    {
        .reg .b32 %r<4>; .reg .b64 %rd<4>;
        ld.param.u64 %rd1, [out];
        atom.global.add.u32 %r1, [counter], 1;
        ld.const.u32 %r2, [table+4];
        st.global.v2.u32 [%rd1], {%r1, %r2};
        ret;
    }"""


def run(program, array):
    """Launch a kernel of one pointer on an array, with one thread."""
    program.launch(1, 1, 0, [np.uint64(array.ctypes.data)], [(array.ctypes.data, array.nbytes)])
    return array
