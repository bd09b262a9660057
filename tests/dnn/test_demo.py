"""The demo trains, checks itself, draws; and its check finds faults."""

import subprocess
import sys

import numpy as np
import pytest

import gpudnn
from gpudnn.demo import __main__ as demo
from gpudnn.demo import check
from gpudnn.demo.network import Network

for package in ("sklearn", "matplotlib", "rich"):
    pytest.importorskip(package)


def test_trains_on_the_cpu(tmp_path):
    """As users start it."""
    picture = tmp_path / "digits.png"
    command = [sys.executable, "-m", "gpudnn.demo", "--device", "cpu", "--epochs", "5", "--out", str(picture)]
    run = subprocess.run(command, capture_output=True, text=True)
    text = run.stdout
    assert run.returncode == 0, text + run.stderr
    assert float(text.partition("test accuracy: ")[2].partition(" ")[0]) > 97, text
    assert "check against float64: passed" in text and "conv2 backward_data: im2col" in text
    assert "time per epoch" in text
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_steps_on_the_executor(tmp_path, capsys):
    assert demo.main(["--device", "executor", "--batches", "2", "--out", str(tmp_path / "a.png")]) == 0
    assert "check against float64: passed" in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["conv1.w", "conv2.bias", "linear.w", "x", "logits"])
def test_check_finds_faults(device, fault, rng):
    """A gradient off by a thousandth of its largest value does not pass."""
    network = Network.random(rng)
    x, target = rng.random((8, 1, 8, 8)).astype(np.float32), rng.integers(0, 10, 8)
    activations = network.forward(x)
    loss = float(gpudnn.cross_entropy(activations.logits, target))
    gradients = network.backward(activations, target, everything=True)
    assert all(finding.passed for alone in (True, False)
               for finding in check.check(network, activations, gradients, loss, target, alone=alone))
    wrong = gradients[fault].copy()
    wrong[wrong.ndim * (0,)] += 1e-3 * np.abs(wrong).max()
    findings = check.check(network, activations, {**gradients, fault: wrong}, loss, target, alone=True)
    assert next(finding.name for finding in findings if not finding.passed) == f"by {fault}"
    wrong[wrong.ndim * (0,)] = np.nan
    findings = check.check(network, activations, {**gradients, fault: wrong}, loss, target, alone=True)
    assert not all(finding.passed for finding in findings)


def test_check_finds_wrong_choices(rng):
    network = Network.random(rng)
    x, target = rng.random((4, 1, 8, 8)).astype(np.float32), rng.integers(0, 10, 4)
    activations = network.forward(x)
    gradients = network.backward(activations, target, everything=True)
    moved = activations.winners.copy()
    moved[0, 0, 0, 0] = 63
    kept, activations.winners = activations.winners, moved
    with pytest.raises(check.WrongChoice, match="outside"):
        check.check(network, activations, gradients, 0.0, target, alone=True)
    activations.winners = kept
    activations.relu1 = np.abs(activations.conv1) + 1
    with pytest.raises(check.WrongChoice, match="relu"):
        check.check(network, activations, gradients, 0.0, target, alone=True)


def test_says_what_is_missing():
    """Without the extra's packages: one line with the pip command, status 2."""
    code = ("import sys, importlib.util as u; real = u.find_spec;"
            "u.find_spec = lambda name, *a: None if name == 'sklearn' else real(name, *a);"
            "from gpudnn.demo.__main__ import main; sys.exit(main([]))")
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert run.returncode == 2 and "pip install scikit-learn" in run.stderr and "Traceback" not in run.stderr


@pytest.mark.parametrize("arguments", [["--epochs", "0"], ["--device", "abacus"]])
def test_bad_arguments(arguments, capsys):
    try:
        status = demo.main(arguments)
    except SystemExit as stopped:  # argparse
        status = stopped.code
    assert status == 2
