compare all-gather --bytes 1001B --slice v5e:4x8 --axes y
