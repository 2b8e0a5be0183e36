collective all-to-all --bytes 1GiB --slice v4:4x4x8:twisted --engine bound
