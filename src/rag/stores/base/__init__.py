"""What both document stores share."""
