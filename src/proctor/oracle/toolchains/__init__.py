"""What is known of toolchains: what commands start, what runners find and read, which part of it tests rest on."""
