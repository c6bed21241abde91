"""Models in ONNX on the user's disk: they embed, or order results."""
