"""The same for every chip: files, commands, memories, time, run control. It knows no chip and no protocol."""
