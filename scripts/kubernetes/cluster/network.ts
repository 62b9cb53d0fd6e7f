/** Addresses of the cluster, and the links between its machines. */
import { execFileSync } from 'node:child_process';
import type { Machine } from './machine.ts';

/** Address of the control plane, which all nodes are linked to. */
export const CONTROL_ADDRESS = '10.88.0.1';
export const PODS = '10.89.0.0/16';
export const SERVICES = '10.96.0.0/16';
const BRIDGE = 'nodes';

export const nodeAddress = (index: number): string => `10.88.0.1${index}`;
/** Addresses of a node's pods. */
export const podsOf = (index: number): string => `10.89.${index}.0/24`;

/** The switch that nodes are linked to. */
export async function makeBridge(control: Machine): Promise<void> {
  await control.run('ip', 'link', 'add', BRIDGE, 'type', 'bridge');
  await control.run('ip', 'address', 'add', `${CONTROL_ADDRESS}/24`, 'dev', BRIDGE);
  await control.run('ip', 'link', 'set', BRIDGE, 'up');
  await forward(control);
}

export async function linkNode(control: Machine, node: Machine, index: number): Promise<void> {
  const link = `node${index}`;
  const peer = ['peer', 'name', 'eth0', 'netns', String(node.entry.pid)];
  // The node's network goes by a process id of this machine.
  const [program, ...command] = control.inNetwork('ip', 'link', 'add', link, 'type', 'veth');
  execFileSync(program, [...command, ...peer], { stdio: 'pipe' });
  await control.run('ip', 'link', 'set', link, 'master', BRIDGE, 'up');
  await node.run('ip', 'address', 'add', `${nodeAddress(index)}/24`, 'dev', 'eth0');
  await node.run('ip', 'link', 'set', 'eth0', 'up');
  await node.run('ip', 'route', 'add', 'default', 'via', CONTROL_ADDRESS);
  await control.run('ip', 'route', 'add', podsOf(index), 'via', nodeAddress(index));
  await forward(node);
  // Answers of a Service's pod on the same bridge come back through its rules.
  await node.run('sysctl', '-qw', 'net.bridge.bridge-nf-call-iptables=1');
}

async function forward(machine: Machine): Promise<void> {
  await machine.run('sysctl', '-qw', 'net.ipv4.ip_forward=1');
}

/** For containerd: a bridge on each node. */
export function podNetwork(index: number): object {
  return {
    cniVersion: '1.0.0',
    name: 'pods',
    plugins: [
      {
        type: 'bridge',
        bridge: 'cni0',
        isGateway: true,
        hairpinMode: true,
        ipam: {
          type: 'host-local',
          ranges: [[{ subnet: podsOf(index) }]],
          routes: [{ dst: '0.0.0.0/0' }],
        },
      },
      { type: 'portmap', capabilities: { portMappings: true } },
    ],
  };
}
