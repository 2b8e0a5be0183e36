collective all-gather --bytes 8MiB --slice v7x:2x2x1 --lowering bucket --json -
