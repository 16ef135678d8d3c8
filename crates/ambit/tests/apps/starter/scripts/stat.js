function Day() { return "Monday"; }
