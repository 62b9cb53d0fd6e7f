import { afterAll, describe, expect, it } from 'vitest';
import { metric, stream } from '../support/http-client.ts';
import { engineOf, runToEnd, startServer } from '../support/server-process.ts';
import { temporaryCache } from '../support/temporary-cache.ts';
import { softwareDriver } from '../support/vulkan-driver.ts';

const driver = softwareDriver();
const cache = await temporaryCache();
afterAll(() => cache.remove());

const question = { messages: [{ role: 'user', content: 'What is 23 + 45?' }], temperature: 0 };

describe.skipIf(driver === null)('serve --device webgpu', { timeout: 100_000 }, () => {
  it('answers, and goes on with a text when its engine is lost', async () => {
    const flags = ['--device', 'webgpu', '--max-num-seqs', '2', '--max-model-len', '96'];
    const server = await startServer(flags, { ...cache.env, ...driver });
    expect(server.output()).toMatch(/fp32 on webgpu \(SwiftShader/);
    expect(server.output()).toContain('computed in float32: this webgpu has no float16');
    const chat = `${server.url}/v1/chat/completions`;
    const undisturbed = await stream(chat, question);
    expect(undisturbed.text).toContain('68');
    let pieces = 0;
    const disturbed = await stream(chat, question, () => {
      if (++pieces === 2) process.kill(engineOf(server), 'SIGKILL');
    });
    expect(disturbed).toEqual(undisturbed);
    expect(await metric(server.url, 'chairlift_engine_crashes_total')).toBe(1);
    await server.stop();
  });

  it('says why it can not start', async () => {
    const env = { ...cache.env, VK_DRIVER_FILES: '/nowhere' };
    const { code, output } = await runToEnd(['serve', '--port', '0', '--device', 'webgpu'], env);
    expect(code).toBe(1);
    expect(output).toContain('--device webgpu does not work here: no Vulkan driver was found');
  });

  it('has no PagedAttention without float16', async () => {
    const flags = ['serve', '--port', '0', '--device', 'webgpu', '--attention', 'paged'];
    const { code, output } = await runToEnd(flags, { ...cache.env, ...driver });
    expect(code).toBe(1);
    expect(output).toContain('needs a kernel for PagedAttention in float16, and webgpu has none');
  });

  it('is not what auto picks, since the driver computes on the CPU', async () => {
    const server = await startServer(['--max-model-len', '96'], { ...cache.env, ...driver });
    expect(server.output()).toMatch(/on cpu, [\s\S]*cpu picked: /);
    await server.stop();
  });
});
