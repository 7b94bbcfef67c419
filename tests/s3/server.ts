import { fileURLToPath } from "node:url";

/** A running S3-compatible server. */
export interface S3Server {
  /** Its address, such as `http://127.0.0.1:43703`. */
  endpoint: string;
  /** What makes the program's environment reach it. */
  environment: Record<string, string>;
  /** Stops it and removes its objects. */
  close(): Promise<void>;
}

/** The credentials that the server knows. */
const KEY = "S3RVER";

/**
 * Starts s3rver (npm) with the given buckets: a real server in a process of its own, which checks
 * signatures, presigned addresses included.
 */
export async function startS3Server(...buckets: string[]): Promise<S3Server> {
  const directory = await Deno.makeTempDir({ prefix: "test-analytics-s3-" });
  const process = new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "-A",
      fileURLToPath(new URL("run_server.ts", import.meta.url)),
      directory,
      ...buckets,
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
  const reader = process.stdout.getReader();
  const { value } = await reader.read();
  const port = new TextDecoder().decode(value).trim();
  const endpoint = `http://127.0.0.1:${port}`;
  return {
    endpoint,
    environment: {
      AWS_ACCESS_KEY_ID: KEY,
      AWS_SECRET_ACCESS_KEY: KEY,
      AWS_ENDPOINT_URL: endpoint,
      AWS_REGION: "us-east-1",
    },
    async close() {
      process.kill("SIGKILL");
      await process.status;
      await reader.cancel();
      await Deno.remove(directory, { recursive: true });
    },
  };
}
