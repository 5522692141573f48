interface Named {
  name: string
  suite?: Named
}

/** As `describe > test`. */
export const fullName = ({ name, suite }: Named): string =>
  suite === undefined ? name : `${fullName(suite)} > ${name}`
