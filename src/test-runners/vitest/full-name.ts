interface Named {
  name: string
  suite?: Named
}

/** The name of a test as `describe > test`. */
export const fullName = ({ name, suite }: Named): string =>
  suite === undefined ? name : `${fullName(suite)} > ${name}`
