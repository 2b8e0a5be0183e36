collective reduce-scatter --bytes 1MiB,1GB --slice v5p:4x8x8 --axes y --csv -
