verify test/data/broken_schedules/valid-short-ar.json
