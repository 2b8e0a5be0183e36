compare all-reduce --bytes 64MiB --slice v5p:4x4x4
