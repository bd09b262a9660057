"""Level 2: matrix times vector, triangular solutions, updates of low rank."""
