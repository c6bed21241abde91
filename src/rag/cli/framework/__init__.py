"""What all commands stand on: options, parameters, the lazy group, the reference."""
