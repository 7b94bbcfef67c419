/** What we use of s3rver, which brings no types of its own. */
export default class S3rver {
  constructor(options: {
    address: string;
    port: number;
    silent: boolean;
    directory: string;
    configureBuckets: { name: string; configs: string[] }[];
  });
  run(): Promise<{ port: number }>;
}
