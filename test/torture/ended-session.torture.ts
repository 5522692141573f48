import { expect, test } from 'vitest'
import { endSession } from '../support/ended-session.ts'
import { seeded } from '../support/random.ts'

test('a program that ends at 200 moments of its work loses nothing that was acknowledged', async () => {
  const random = seeded(Date.now())
  for (let round = 0; round < 200; round++) {
    const how = ['while it appends again and again', 'while it takes a snapshot and closes'][
      round % 2
    ] as string
    await expect(
      endSession(how, ['closed', 'crashed'], round % 3 === 0 ? 0 : 5, random() * 120),
    ).resolves.toBeUndefined()
  }
})
