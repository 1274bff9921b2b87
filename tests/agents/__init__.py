"""Real agents through the real command, each on a task of csv_tool, in the sandbox, with a scripted model."""
