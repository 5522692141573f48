import { runMain } from '../command/run-main.ts'
import { stint } from './stint.ts'

void runMain(stint)
