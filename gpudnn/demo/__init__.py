"""The demo: a small convolutional network, trained on real handwritten digits. Run `python -m gpudnn.demo --help`."""
