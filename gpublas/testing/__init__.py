"""What tests share, here and downstream: the PTX executor (gpublas.testing.ptx)."""
