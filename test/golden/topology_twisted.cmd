topology v4:4x4x8:twisted
