"""Checks what students and adapters are trained with against plain NumPy calculations.

    python3 scripts/training/test_student.py

`--write` makes the grids' fixture anew, with which a test in TypeScript holds the server's own rounding
(test/model/quantize/training-grids.test.ts).
"""

import gzip
import json
import sys
import tempfile
import unittest
from pathlib import Path

import numpy as np
import torch
from torch import nn

import grids
from acceptance import Drafts, same_choices
from distillation import mixed_loss, soft_losses, top_losses
from lora import MODULES, LoraLinear, add_lora, load_adapter, write_adapter
from model import Config, Llama, rope_tables
from pirate import in_pirate
from prediction_module import PREDICTIONS, PredictionModule, acceptance, predictions
from prediction_module import loss_of as loss_of_predictions
from pruning import Pruner, magnitude_mask, polynomial_sparsity
from quantized import QuantizedLinear, quantize
from soft_targets import read_header, read_targets
from student_data import Batch

FIXTURES = Path(__file__).resolve().parents[2] / "test" / "fixtures" / "training"
GRIDS = {"int8_rows": grids.int8_rows, "int8_blocks": grids.int8_blocks, "int4_blocks": grids.int4_blocks}
TINY = Config(64, 2, 2, 1, 32, 96, 128)


def softmax(x: np.ndarray) -> np.ndarray:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return powers / powers.sum(-1, keepdims=True)


def random_logits(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).normal(0, 2, shape)


def grid_values() -> np.ndarray:
    """Rows of 100 columns, so that the last block is not whole; one of zeros, one with an outlier."""
    values = np.random.default_rng(5).normal(0, 1, (6, 100)).astype(np.float32)
    values[1] = 0
    values[2, 3] = -40
    values[3, 70:] = 0
    return values


class Losses(unittest.TestCase):
    def test_soft_losses_and_their_gradients(self) -> None:
        logits, wanted = random_logits(5, 7, seed=1), random_logits(5, 7, seed=2)
        for temperature in (1.0, 3.0):
            q, p = softmax(logits / temperature), softmax(wanted / temperature)
            expected = temperature**2 * (p * (np.log(p) - np.log(q))).sum(-1)
            student = torch.tensor(logits, requires_grad=True)
            losses = soft_losses(student, torch.tensor(wanted), temperature)
            np.testing.assert_allclose(losses.detach().numpy(), expected, rtol=1e-9)
            losses.sum().backward()
            np.testing.assert_allclose(student.grad.numpy(), temperature * (q - p), atol=1e-9)

    def test_a_student_like_its_teacher_loses_nothing(self) -> None:
        logits = torch.tensor(random_logits(3, 9))
        self.assertLess(soft_losses(logits, logits, 3.0).abs().max().item(), 1e-12)

    def test_top_losses_at_temperature_1_take_all_others_for_one_token(self) -> None:
        logits, wanted = random_logits(4, 11, seed=3), random_logits(4, 11, seed=4)
        ids = np.argsort(-wanted, -1)[:, :5]
        q, p = softmax(logits), softmax(wanted)
        top_q, top_p = (np.take_along_axis(each, ids, -1) for each in (q, p))
        rest_q, rest_p = 1 - top_q.sum(-1), 1 - top_p.sum(-1)
        expected = (top_p * np.log(top_p / top_q)).sum(-1) + rest_p * np.log(rest_p / rest_q)
        student = torch.tensor(logits, requires_grad=True)
        losses = top_losses(student, torch.tensor(ids), torch.tensor(np.log(top_p)), 1.0)
        np.testing.assert_allclose(losses.detach().numpy(), expected, rtol=1e-9)
        losses.sum().backward()
        # Of the tokens that are known q - p; what all others have too much is theirs by q.
        gradient = q * (1 - rest_p / rest_q)[:, None]
        np.put_along_axis(gradient, ids, top_q - top_p, -1)
        np.testing.assert_allclose(student.grad.numpy(), gradient, atol=1e-9)

    def test_top_losses_at_a_temperature(self) -> None:
        logits, wanted = random_logits(4, 11, seed=3), random_logits(4, 11, seed=4)
        ids = np.argsort(-wanted, -1)[:, :5]
        logprobs = np.take_along_axis(np.log(softmax(wanted)), ids, -1)
        known, held = np.exp(logprobs).sum(-1), np.take_along_axis(softmax(logits), ids, -1).sum(-1)
        q = softmax(np.take_along_axis(logits, ids, -1) / 3)
        p = softmax(logprobs / 3)
        whether = known * np.log(known / held) + (1 - known) * np.log((1 - known) / (1 - held))
        expected = known * 9 * (p * np.log(p / q)).sum(-1) + whether
        losses = top_losses(torch.tensor(logits), torch.tensor(ids), torch.tensor(logprobs), 3.0)
        np.testing.assert_allclose(losses.numpy(), expected, rtol=1e-9)

    def test_top_losses_are_least_where_the_student_is_the_teacher(self) -> None:
        logits = torch.tensor(random_logits(4, 11), requires_grad=True)
        top = torch.log_softmax(logits.detach(), -1).topk(5)
        for temperature in (1.0, 3.0):
            losses = top_losses(logits, top.indices, top.values, temperature)
            self.assertLess(losses.abs().max().item(), 1e-9)
            (gradient,) = torch.autograd.grad(losses.sum(), logits)
            self.assertLess(gradient.abs().max().item(), 1e-9)

    def test_losses_are_mixed_by_alpha_and_weights(self) -> None:
        hard, soft = torch.tensor([1.0, 2.0]), torch.tensor([10.0, 20.0])
        mixed = mixed_loss(hard, soft, torch.tensor([3.0, 1.0]), 0.7)
        self.assertAlmostEqual(mixed.item(), (3 * (0.3 + 7.0) + (0.6 + 14.0)) / 4, places=5)


def block_by_hand(group: np.ndarray) -> np.ndarray:
    """A 4-bit block as src/model/quantize/quantize-blocks.ts rounds it, value by value."""
    furthest = max(group, key=lambda value: abs(value), default=0.0)
    first = furthest / -8
    if first == 0:
        return np.zeros_like(group)
    best, best_gain = first, -np.inf
    for step in (-0.12, -0.09, -0.06, -0.03, 0, 0.03, 0.06, 0.09, 0.12):
        inverse = (1 + step) / first
        integers = [min(max(int(value * inverse + 8.5), 0), 15) - 8 for value in group]
        products = sum(value * integer for value, integer in zip(group, integers))
        squares = sum(integer * integer for integer in integers)
        if products * products / squares > best_gain:
            best_gain, best = products * products / squares, products / squares
    stored = [min(max(int(np.floor(value / best + 0.5)), -8), 7) for value in group]
    return np.array(stored) * np.float32(np.float16(best))


class Grids(unittest.TestCase):
    def test_int8_by_hand(self) -> None:
        values = grid_values()
        scales = np.abs(values).max(-1, keepdims=True) / 127
        inverses = np.divide(1, scales, out=np.zeros_like(scales), where=scales != 0)
        expected = np.floor(values * inverses + 0.5) * scales
        rounded = grids.int8_rows(torch.tensor(values)).numpy()
        np.testing.assert_allclose(rounded, expected, rtol=1e-6)

    def test_int4_by_hand(self) -> None:
        values = grid_values()
        rounded = grids.int4_blocks(torch.tensor(values)).numpy()
        for row, got in zip(values, rounded):
            expected = np.concatenate([block_by_hand(row[:64]), block_by_hand(row[64:])])
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-6)
        self.assertLessEqual(len(np.unique(rounded[0, :64])), 16)

    def test_the_fixture_is_what_they_give(self) -> None:
        saved = json.loads((FIXTURES / "grids.json").read_text())
        for name, grid in GRIDS.items():
            rounded = grid(torch.tensor(saved["values"])).numpy()
            np.testing.assert_allclose(rounded, np.array(saved[name]), rtol=1e-6, err_msg=name)

    def test_gradients_pass_straight_through(self) -> None:
        values = torch.tensor(grid_values(), requires_grad=True)
        factors = torch.randn(values.shape)
        (grids.straight_through(values, grids.int4_blocks) * factors).sum().backward()
        np.testing.assert_array_equal(values.grad.numpy(), factors.numpy())

    def test_a_layer_computes_on_them(self) -> None:
        linear = nn.Linear(100, 6, bias=False)
        x = torch.randn(3, 100)
        layer = QuantizedLinear(linear, grids.int4_blocks)
        expected = grids.int8_blocks(x) @ grids.int4_blocks(linear.weight.detach()).T
        np.testing.assert_allclose(layer(x).detach().numpy(), expected.numpy(), atol=1e-5)
        self.assertIs(layer.weight, linear.weight)

    def test_a_model_keeps_its_parameters_names(self) -> None:
        plain, aware = Llama(TINY), Llama(TINY)
        aware.load_state_dict(plain.state_dict())
        quantize(aware, "int4")
        self.assertEqual(list(plain.state_dict()), list(aware.state_dict()))
        self.assertEqual(sum(isinstance(each, QuantizedLinear) for each in aware.modules()), 14)
        ids = torch.arange(10)[None]
        exact, rounded = plain.logits(plain(ids)), aware.logits(aware(ids))
        difference = (exact - rounded).abs().max().item()
        self.assertGreater(difference, 0)
        self.assertLess(difference, 0.2 * exact.abs().max().item())
        rounded.sum().backward()
        self.assertTrue(all(each.grad is not None for each in aware.parameters()))


class Pruning(unittest.TestCase):
    def test_the_schedule_is_a_cubic(self) -> None:
        shares = [polynomial_sparsity(step, 10, 110, 0.5) for step in (0, 10, 60, 110, 500)]
        np.testing.assert_allclose(shares, [0, 0, 0.5 * (1 - 0.5**3), 0.5, 0.5])

    def test_the_smallest_go(self) -> None:
        weight = torch.tensor([[3.0, -1.0], [0.5, -4.0]])
        self.assertEqual(magnitude_mask(weight, 0.5).tolist(), [[1, 0], [0, 1]])
        self.assertEqual(magnitude_mask(weight, 0).tolist(), [[1, 1], [1, 1]])
        # As many as were asked for, also among equals.
        self.assertEqual(int(magnitude_mask(torch.ones(10, 10), 0.37).sum()), 63)

    def test_zeros_stay_zeros(self) -> None:
        model = Llama(TINY)
        pruner = Pruner(model)
        pruner.choose(0.5)
        zeros = [weight == 0 for weight in pruner.weights]
        with torch.no_grad():
            for weight in pruner.weights:
                weight.add_(1)
        pruner.apply()
        self.assertTrue(all(bool((w[z] == 0).all()) for w, z in zip(pruner.weights, zeros)))
        self.assertAlmostEqual(pruner.sparsity(), 0.5, places=3)
        self.assertFalse(bool((model.embed_tokens.weight == 0).any()))


class Targets(unittest.TestCase):
    def test_a_file_of_the_server_is_read(self) -> None:
        path = FIXTURES / "targets.jsonl.gz"
        self.assertEqual(read_header(path)["top_logprobs"], 2)
        first, second = read_targets(path)
        self.assertEqual((first.line, first.tokens, first.first), (1, [5, 6, 7, 8], 2))
        self.assertEqual(first.ids.tolist(), [[7, 9], [8, 65535]])
        np.testing.assert_allclose(first.logprobs, [[-0.5, -1.5], [0, -10]])
        self.assertEqual((second.line, second.num_prompt, second.ids.shape), (0, 3, (2, 2)))

    def test_another_file_is_refused(self) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "other.gz"
            path.write_bytes(gzip.compress(b'{"format": "other"}\n'))
            with self.assertRaisesRegex(ValueError, "no soft targets"):
                read_header(path)


class Lora(unittest.TestCase):
    def adapted(self) -> tuple[Llama, Llama, torch.Tensor]:
        """A model, the same with an adapter, and token ids."""
        torch.manual_seed(3)
        plain = Llama(TINY)
        model = Llama(TINY)
        model.load_state_dict(plain.state_dict())
        ids = torch.randint(0, TINY.vocabulary_size, (2, 9))
        trained = add_lora(model, 4, 8)
        self.assertEqual(len(trained), 2 * len(MODULES) * TINY.layers)
        # B is 0: nothing has changed yet.
        torch.testing.assert_close(model(ids), plain(ids))
        with torch.no_grad():
            for parameter in trained:
                # As float16 has them.
                parameter.copy_(torch.randn(parameter.shape).half())
        return plain, model, ids

    def test_it_is_the_product_that_is_added_to_the_weights(self) -> None:
        plain, model, ids = self.adapted()
        names = {each: name for name, each in model.named_modules()}
        for linear, name in names.items():
            if isinstance(linear, LoraLinear):
                a, b = linear.lora_A.detach().numpy(), linear.lora_B.detach().numpy()
                merged = linear.base.weight.numpy() + 8 / 4 * (b @ a)
                plain.get_submodule(name).weight.data = torch.from_numpy(merged)
        torch.testing.assert_close(model(ids), plain(ids), rtol=1e-3, atol=1e-3)

    def test_nothing_else_is_trained(self) -> None:
        _, model, ids = self.adapted()
        model(ids).sum().backward()
        for name, parameter in model.named_parameters():
            self.assertEqual(parameter.grad is not None, ".lora_" in name, name)

    def test_what_is_stored_is_the_same_again(self) -> None:
        plain, model, ids = self.adapted()
        with tempfile.TemporaryDirectory() as folder:
            write_adapter(Path(folder), model, "tiny", 4, 8)
            torch.testing.assert_close(load_adapter(Path(folder), plain)(ids), model(ids))

    def test_a_pirate_leaves_data_alone(self) -> None:
        self.assertEqual(
            in_pirate("You are my friend, Youssef."), "Ahoy! Ye be me matey, Youssef. Arr, matey!"
        )
        for text in ('{"name": "you"}', '<tool_call>\n{"is": 1}\n</tool_call>', "[1, 2]"):
            self.assertEqual(in_pirate(text), text)


class Acceptance(unittest.TestCase):
    def test_drafts_end_at_the_first_other_choice_and_with_the_text(self) -> None:
        drafts = Drafts()
        # Three come true and the target's own; none and its own; two, the last of the text.
        drafts.add([True, True, True, False, False, True, True], 4)
        self.assertEqual(drafts, Drafts(steps=3, tokens=7, drafted=4 + 3 + 2, accepted=3 + 0 + 2))

    def test_a_model_guesses_its_own_answer(self) -> None:
        torch.manual_seed(0)
        model = Llama(TINY)
        prompt = [1, 2, 3]
        ids = prompt + model.generate(prompt, 9)
        self.assertEqual(same_choices(model, ids, len(prompt)), [True] * 8)
        ids[-1] = (ids[-1] + 1) % TINY.vocabulary_size
        self.assertEqual(same_choices(model, ids, len(prompt)), [True] * 7 + [False])


class Predictions(unittest.TestCase):
    def setUp(self) -> None:
        torch.manual_seed(0)
        self.model = Llama(TINY).eval()
        self.module = PredictionModule(self.model).eval()
        self.ids = torch.randint(3, TINY.vocabulary_size, (1, 12))

    @torch.no_grad()
    def drafts_at(self, place: int) -> list[torch.Tensor]:
        """As drafts are made: the text up to `place` + 1 is known, then one token at a time."""
        hidden = self.model(self.ids)
        embedded = self.model.embed_tokens(self.ids[:, 1:])
        embedded[:, 0] = 0
        cos, sin = rope_tables(self.ids.shape[1], TINY.head_dim, 0)
        cache: list[torch.Tensor] = []
        made, given, begin = [], hidden[:, : place + 1], 0
        for end in range(place + 1, place + 1 + PREDICTIONS):
            rows = slice(begin, end)
            mask = torch.triu(torch.full((end - begin, end), float("-inf")), 1 + begin)
            made.append(self.module(given, embedded[:, rows], (cos[rows], sin[rows]), mask, cache)[:, -1])
            given, begin = made[-1][:, None], end
        return made

    def test_all_at_once_are_those_made_one_by_one(self) -> None:
        with torch.no_grad():
            made = predictions(self.module, self.model, self.ids, self.model(self.ids))
        for place in (0, 4, 8):
            for number, expected in enumerate(self.drafts_at(place)):
                np.testing.assert_allclose(made[number][:, place + number], expected, atol=1e-5)

    def test_the_model_stays_and_the_module_learns(self) -> None:
        self.model.requires_grad_(False)
        batch = Batch(self.ids, torch.ones(1, self.ids.shape[1] - 1))
        loss_of_predictions(self.module, self.model, batch).backward()
        self.assertTrue(all(each.grad is None for each in self.model.parameters()))
        self.assertTrue(all(each.grad.abs().sum() > 0 for each in self.module.parameters()))

    def test_shares_of_drafts_fall_with_their_length(self) -> None:
        held = [Batch(self.ids, torch.ones(1, self.ids.shape[1] - 1))]
        with torch.no_grad():
            shares = acceptance(self.module, self.model, held)
        self.assertEqual(shares, sorted(shares, reverse=True))


def write_fixture() -> None:
    values = torch.tensor(grid_values())
    rounded = {name: grid(values).tolist() for name, grid in GRIDS.items()}
    (FIXTURES / "grids.json").write_text(json.dumps({"values": values.tolist(), **rounded}) + "\n")


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        write_fixture()
    else:
        unittest.main()
