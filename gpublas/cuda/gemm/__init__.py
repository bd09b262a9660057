"""The GEMM family: tile configurations, kernels, and the choice between them."""
