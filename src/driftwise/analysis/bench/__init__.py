"""The benchmark of policies over scenarios: verdicts, and the page about them."""
