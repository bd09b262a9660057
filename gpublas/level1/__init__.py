"""Level 1: vectors. elementwise.py, reductions.py and rotations.py hold the public routines."""
