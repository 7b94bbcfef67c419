/** Programs that are killed. */
import { type Ending, follow } from "./child.ts";
import { command } from "./program.ts";

/** A program that runs. */
export interface Launched {
  /** Whether it has ended, by itself or not. */
  isOver(): boolean;
  /** Ends it at once, with no chance to clean up, unless it has ended; returns what it left. */
  kill(): Promise<Ending>;
  /** Tells it to end, unless it has ended; returns what it left. */
  stop(): Promise<Ending>;
  /** Waits for its end. */
  ending: Promise<Ending>;
}

/** Starts a command and does not wait for it. */
export function launch(args: string[], environment: Record<string, string>): Launched {
  const { isOver, ending, end } = follow(command(args, { environment }).spawn());
  return { isOver, ending, kill: () => end("SIGKILL"), stop: () => end("SIGTERM") };
}

/** Waits. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
