topology topologies/ring-of-8-uneven.json
