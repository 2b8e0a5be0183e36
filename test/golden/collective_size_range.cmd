collective all-gather --bytes "1KiB..64MiB x8" --slice v5e:16x16
