"""Convolution algorithms. Each module has

NAME, NOTES: what users call it, and what is good to know of it. TRAITS: which of "tensor_core", "reduced_precision",
    "fft", "winograd", "nondeterministic", "nan_spreads" (a NaN may show beyond the windows that hold it, or where it
    meets only padding) it has.
supports(problem, direction): None, or the reason why it cannot do the problem.
workspace_bytes(problem, direction, limit): bytes that it takes when allowed `limit` (None: as it likes); where the
    limit is too small, the least it can do with, which is more than the limit.
error_bound(problem, direction): b in |computed - exact| <= b * (|alpha| * (|x| conv |w|) + |beta| |out|).
forward, backward_data, backward_filter(call, problem, operands..., alpha, beta, limit): operands as views in
    canonical axis order (views.py). Workspace is taken before anything is written.
"""
