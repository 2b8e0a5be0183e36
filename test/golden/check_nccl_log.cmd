check test/data/nccl/all_reduce_16.csv test/data/nccl/all_reduce_16.txt --tolerance 10%
