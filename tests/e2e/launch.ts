/** Programs that are killed. */
import { command, type Ending } from "./program.ts";

/** A program that runs. */
export interface Launched {
  /** Whether it has ended, by itself or not. */
  isOver(): boolean;
  /** Ends it at once, with no chance to clean up, unless it has ended; returns what it left. */
  kill(): Promise<Ending>;
  /** Waits for its end. */
  ending: Promise<Ending>;
}

/** Starts a command and does not wait for it. */
export function launch(args: string[], environment: Record<string, string>): Launched {
  const child = command(args, { environment }).spawn();
  let isOver = false;
  void child.status.then(() => isOver = true);
  const ending = child.output().then(({ code, stdout, stderr }) => ({
    code,
    stdout: new TextDecoder().decode(stdout),
    stderr: new TextDecoder().decode(stderr),
  }));
  return {
    isOver: () => isOver,
    ending,
    kill() {
      if (!isOver) child.kill("SIGKILL");
      return ending;
    },
  };
}

/** Waits. */
export function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, milliseconds));
}
