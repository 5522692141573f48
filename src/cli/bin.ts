import { runMain } from '../command/run-main.ts'
import { stintCommands } from './stint.ts'

void runMain(stintCommands, { output: 'text' })
