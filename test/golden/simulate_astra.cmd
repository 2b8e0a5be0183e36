simulate --astra workloads/astra/torus_4x4.yml workloads/astra/rings.json workloads/astra/two_layers_transformer.txt
