import { type Environment, setting, type SettingName } from "../../base/config.ts";
import { UsageError } from "../errors.ts";

/** Credentials and endpoint. */
export interface S3Settings {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string;
  region: string;
  /** URL of an S3-compatible service, `""` for Amazon S3. */
  endpoint: string;
}

/** A bucket and a prefix of keys. */
export interface S3Location {
  bucket: string;
  /** `""`, or ending with a slash. */
  prefix: string;
}

/** Parses `s3://bucket/prefix`, with or without a slash at the end. @throws {SyntaxError} */
export function parseS3Url(url: string): S3Location {
  const [, bucket, path = ""] = /^s3:\/\/([a-z0-9][a-z0-9._-]{1,62})(?:\/(.*))?$/i.exec(url) ?? [];
  if (bucket === undefined) {
    throw new SyntaxError(`invalid bucket "${url}": expected s3://BUCKET or s3://BUCKET/PREFIX`);
  }
  const prefix = path.replace(/\/+$/, "");
  return { bucket, prefix: prefix === "" ? "" : `${prefix}/` };
}

/** Reads the settings from the environment. @throws {UsageError} */
export function readS3Settings(environment: Environment): S3Settings {
  const get = (name: Parameters<typeof setting>[1]) => setting(environment, name).trim();
  const settings = {
    accessKeyId: get("AWS_ACCESS_KEY_ID"),
    secretAccessKey: get("AWS_SECRET_ACCESS_KEY"),
    sessionToken: get("AWS_SESSION_TOKEN"),
    region: environment.AWS_REGION?.trim() || get("AWS_DEFAULT_REGION") || get("AWS_REGION"),
    endpoint: get("AWS_ENDPOINT_URL_S3") || get("AWS_ENDPOINT_URL"),
  };
  if (settings.accessKeyId === "" || settings.secretAccessKey === "") {
    throw new UsageError(
      "missing AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY: expected both in the environment",
    );
  }
  if (settings.endpoint !== "" && !/^https?:\/\/[^/?#]+\/?$/.test(settings.endpoint)) {
    throw new UsageError(
      `invalid endpoint "${settings.endpoint}": expected https://HOST`,
    );
  }
  return settings;
}

/** The environment variables of S3-compatible storage. */
export const STORAGE_VARIABLES = [
  "AWS_ACCESS_KEY_ID",
  "AWS_SECRET_ACCESS_KEY",
  "AWS_SESSION_TOKEN",
  "AWS_REGION",
  "AWS_DEFAULT_REGION",
  "AWS_ENDPOINT_URL_S3",
  "AWS_ENDPOINT_URL",
] as const satisfies readonly SettingName[];
