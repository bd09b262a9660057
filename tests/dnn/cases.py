"""Convolutions that every algorithm, direction and device is tested on. Small: the executor is no GPU."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Case:
    """x: (N, C, H, W). w: (K, C/groups, kh, kw). Both are channels-first here, whatever the layout of the test."""

    name: str
    x: tuple
    w: tuple
    stride: tuple = (1, 1)
    padding: tuple = ((0, 0), (0, 0))
    dilation: tuple = (1, 1)
    groups: int = 1

    def __str__(self):
        return self.name

    @property
    def output(self):
        return tuple((e + sum(p) - (k - 1) * d - 1) // s + 1 for e, p, k, d, s in
                     zip(self.x[2:], self.padding, self.w[2:], self.dilation, self.stride, strict=True))

    @property
    def y(self):
        return (self.x[0], self.w[0], *self.output)


CASES = [
    Case("one_by_one", (2, 5, 4, 3), (3, 5, 1, 1)),
    Case("one_by_one_strided", (2, 3, 5, 6), (4, 3, 1, 1), stride=(2, 3)),
    Case("one_by_one_padded", (1, 3, 3, 4), (2, 3, 1, 1), padding=((1, 0), (0, 2))),
    Case("three_by_three", (2, 3, 7, 6), (5, 3, 3, 3)),
    Case("same", (2, 4, 6, 7), (6, 4, 3, 3), padding=((1, 1), (1, 1))),
    Case("five_by_two", (2, 2, 8, 9), (3, 2, 5, 2), padding=((2, 2), (0, 1))),
    Case("even_kernel", (1, 2, 6, 5), (2, 2, 4, 2), padding=((1, 2), (0, 1))),
    Case("stride", (2, 3, 9, 8), (4, 3, 3, 3), stride=(2, 2), padding=((1, 1), (1, 1))),
    Case("stride_beyond_kernel", (2, 2, 11, 10), (3, 2, 2, 2), stride=(4, 3)),
    Case("stride_one_axis", (1, 2, 8, 7), (2, 2, 3, 3), stride=(1, 3), padding=((0, 2), (1, 0))),
    Case("dilation", (2, 2, 9, 8), (3, 2, 3, 3), dilation=(2, 3), padding=((2, 2), (3, 3))),
    Case("dilation_and_stride", (1, 3, 12, 11), (4, 3, 3, 2), stride=(2, 3), dilation=(3, 2), padding=((3, 1), (0, 2))),
    Case("kernel_as_large_as_padded_input", (2, 3, 4, 5), (3, 3, 6, 5), padding=((1, 1), (0, 0))),
    Case("padding_beyond_kernel", (1, 2, 3, 3), (2, 2, 2, 2), padding=((4, 3), (0, 3))),
    Case("taps_in_the_padding_alone", (2, 2, 3, 4), (3, 2, 6, 7), stride=(2, 1), padding=((3, 1), (4, 0))),
    Case("windows_before_the_image", (2, 2, 1, 1), (3, 2, 1, 2), dilation=(1, 3), padding=((0, 0), (4, 0))),
    Case("padding_and_stride_skip_pixels", (1, 2, 7, 7), (2, 2, 1, 2), stride=(3, 3), padding=((1, 0), (2, 0))),
    Case("groups", (2, 6, 6, 5), (9, 2, 3, 3), groups=3, padding=((1, 1), (1, 1))),
    Case("groups_strided", (1, 8, 7, 7), (10, 4, 3, 3), groups=2, stride=(2, 2), padding=((1, 0), (0, 1))),
    Case("groups_one_by_one", (2, 6, 3, 4), (4, 3, 1, 1), groups=2),
    Case("depthwise", (2, 5, 6, 6), (5, 1, 3, 3), groups=5, padding=((1, 1), (1, 1))),
    Case("depthwise_multiplier", (2, 3, 6, 5), (6, 1, 3, 2), groups=3, stride=(2, 1)),
    Case("single_channel", (3, 1, 5, 5), (2, 1, 3, 3)),
    Case("single_pixel", (3, 4, 1, 1), (5, 4, 1, 1)),
    Case("single_pixel_padded", (2, 3, 1, 1), (4, 3, 3, 3), padding=((1, 1), (1, 1))),
    Case("row_image", (2, 2, 1, 17), (3, 2, 1, 5), padding=((0, 0), (2, 2)), stride=(1, 2)),
    Case("column_image", (1, 3, 19, 1), (2, 3, 4, 1), dilation=(2, 1)),
    Case("many_filters", (1, 2, 3, 3), (21, 2, 2, 2)),
    Case("many_channels", (1, 37, 3, 4), (2, 37, 2, 2), padding=((1, 0), (0, 0))),
    Case("d15_skipped_rows", (1, 9, 32, 32), (3, 9, 5, 5), stride=(3, 3), padding=((1, 1), (1, 1))),
]
EMPTY_CASES = [
    Case("no_images", (0, 3, 5, 5), (2, 3, 3, 3)),
    Case("no_channels", (2, 0, 5, 5), (2, 0, 3, 3)),
    Case("no_filters", (2, 3, 5, 5), (0, 3, 3, 3)),
    Case("no_rows_but_padding", (2, 3, 0, 4), (2, 3, 2, 2), padding=((1, 1), (0, 0))),
    Case("no_images_grouped", (0, 4, 5, 5), (2, 2, 3, 3), groups=2),
]
