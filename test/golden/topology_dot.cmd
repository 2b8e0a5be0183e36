topology ideal:2x3 --fault link:0,0:x+=50% --dot
