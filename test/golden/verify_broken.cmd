verify test/data/broken_schedules/no-dependences-0-short-ar.json
