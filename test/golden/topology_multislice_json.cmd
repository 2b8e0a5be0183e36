topology "2*v5e:16x16" --json
