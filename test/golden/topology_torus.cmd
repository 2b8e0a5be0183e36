topology v5p:8x8x16
