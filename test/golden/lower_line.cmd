lower all-gather --bytes 8B --slice ideal:3:mesh --lowering line -o -
