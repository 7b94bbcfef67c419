<?php

use PHPUnit\Framework\TestCase;

final class CartTest extends TestCase
{
    public function testPasses(): void
    {
        $this->assertSame(1, 1);
    }

    public function testAlwaysFails(): void
    {
        $this->assertSame(1, 2);
    }

    public function testIsSkipped(): void
    {
        $this->markTestSkipped();
    }

    /** @dataProvider rows */
    public function testSameNameForTwoRows(int $row): void
    {
        $this->assertSame(1, $row);
    }

    public static function rows(): array
    {
        return [[1], [2]];
    }
}
