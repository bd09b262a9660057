"""The direction of imports, and what importing the packages costs."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from gpublas.cuda import driver

ROOT = Path(__file__).parent.parent

# What each room of gpublas may import from the project, beyond the rooms listed with it.
BOTTOM = {"errors", "flags", "precision", "version", "diskcache"}
ALLOWED = {
    "errors": set(), "flags": set(), "precision": set(), "version": set(), "diskcache": set(),
    "arrays": BOTTOM | {"cuda"},  # cuda.driver, to ask where an address lives
    "operands": BOTTOM | {"arrays"},
    "checks": BOTTOM | {"arrays"},
    "context": BOTTOM | {"arrays", "checks", "cuda", "tuning"},  # cuda.driver, cuda.executor and tuning, when chosen
    "tuning": BOTTOM | {"cuda"},  # cuda.gemm: configurations, and what the heuristic makes of a size
    "backend": BOTTOM | {"context", "cpu", "cuda"},
}


def modules(package):
    return sorted((ROOT / package).rglob("*.py"))


def imports(path, top_level_only=False):
    """Absolute names of what a file imports from this project."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    package = parts[:-1]
    tree = ast.parse(path.read_text(encoding="utf-8"))
    nodes = tree.body if top_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            base = package[:len(package) - node.level + 1] if node.level else ()
            name = ".".join((*base, *(node.module or "").split("."))).strip(".")
            yield from (f"{name}.{alias.name}" if not node.module else name for alias in node.names)
        elif isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)


def test_gpublas_never_imports_gpudnn():
    assert not [(path.name, name) for path in modules("gpublas") for name in imports(path)
                if name.startswith("gpudnn")]


@pytest.mark.parametrize("room", ALLOWED)
def test_rooms_import_downwards(room):
    path = ROOT / "gpublas" / f"{room}.py"
    used = {name.split(".")[1] for name in imports(path) if name.startswith("gpublas.")}
    assert used <= ALLOWED[room], f"{room} imports {used - ALLOWED[room]}"


def test_kernel_files_import_only_kernel_files():
    """Kernels import numba, the compiler's records and each other: never context, checks or tuning."""
    kernels = [path for path in (*modules("gpublas/cuda"), *modules("gpudnn/kernels")) if path.name != "frontend.py"
               and any(name.startswith("numba") for name in imports(path, top_level_only=True))]
    assert len(kernels) > 12
    names = tuple(".".join(path.relative_to(ROOT).with_suffix("").parts) for path in kernels)
    allowed = (*names, "gpublas.cuda.compile", "gpublas.cuda.scalars", "gpublas.cuda.gemm", "gpublas.precision",
               "gpudnn.kernels")
    wrong = [(str(path), name) for path in kernels for name in imports(path)
             if name.startswith(("gpublas", "gpudnn")) and not name.startswith(allowed)]
    assert not wrong


def test_nothing_imports_a_peer_library():
    """No cuBLAS, cuDNN, CuPy or PyTorch inside: only arrays.py knows foreign arrays, gpudnn/torch.py PyTorch."""
    allowed = {"arrays.py", "torch.py"}
    wrong = [(str(path), name) for package in ("gpublas", "gpudnn") for path in modules(package)
             for name in imports(path) if name.split(".")[0] in {"cupy", "torch", "jax", "tensorflow"}
             and path.name not in allowed]
    assert not wrong


def python(code):
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.mark.parametrize("package", ["gpublas", "gpudnn"])
def test_import_is_light(package):
    code = (f"import sys, {package}; print([name for name in ('numba', 'llvmlite', 'cuda', 'cupy', 'torch', 'scipy',"
            " 'matplotlib', 'rich', 'sklearn') if name in sys.modules])")
    assert python(code) == "[]"


@pytest.mark.parametrize("choice", ["gpublas.use('cpu')", "gpublas.use(None)"])
def test_a_cpu_gemm_needs_neither_numba_nor_cuda(choice):
    """By name, and as what is left where there is no GPU."""
    if "None" in choice and not driver.why_unusable():
        pytest.skip("a GPU is here, and is the default")
    code = (f"import sys, numpy as np, gpublas; {choice}; gpublas.sgemm('N', 'N', 1, np.eye(3, dtype='f4'),"
            "np.eye(3, dtype='f4')); print([name for name in ('numba', 'llvmlite', 'cuda') if name in sys.modules])")
    assert python(code) == "[]"
